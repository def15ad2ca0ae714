"""Generated videos: what is asked for, who makes them, and whether a file is one."""
