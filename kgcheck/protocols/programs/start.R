# Starts a program in R inside the sandbox, in which no other program can be started: the package utils asks for uname
# when it is loaded, by way of a shell. Nothing is found, so nothing is asked.
local({
  unlockBinding("Sys.which", baseenv())
  assign("Sys.which", function(names) structure(character(length(names)), names = names), envir = baseenv())
  lockBinding("Sys.which", baseenv())
  for (package in c("methods", "datasets", "utils", "grDevices", "graphics", "stats"))
    library(package, character.only = TRUE)
})
source(commandArgs(trailingOnly = TRUE)[[1L]], echo = FALSE, print.eval = TRUE, keep.source = FALSE)
