"""What the readers of Nsight Systems exports are made of: the database, its tables, and `nsys stats` texts."""
