"""Reading files into fragments: what is in a file (pure), where files are (I/O), and how they are stored."""
