"""What is handed out: wheel, source, Debian package, image, bill of materials, checksums."""
