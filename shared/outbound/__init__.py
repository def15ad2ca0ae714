"""Where this app may connect to on somebody else's word: a result's link, a notification's address."""
