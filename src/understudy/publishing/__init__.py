"""What leaves the house: the one gate, and the folder that it makes."""
