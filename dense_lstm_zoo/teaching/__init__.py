"""Labels by a teacher for texts without any, and more text for it to label."""
