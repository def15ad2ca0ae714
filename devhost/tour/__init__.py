"""The tour: the documents it uses and the script that makes them."""
