"""What `penstock doctor` judges by numbers and settings: a function for each rule of the catalogue, group by group."""
