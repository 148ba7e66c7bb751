"""What an analyst keeps."""
