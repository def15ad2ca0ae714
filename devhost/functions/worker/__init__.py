"""What indexes an app and runs its functions; the host around it listens, settles and answers."""
