import "../shell";
import "./live.css";
import { View } from "./view";

// A demo marks the page that it serves, so that the page does not look for one on other hosts.
if (document.querySelector("meta[name=tidegate-live]")) new View(document.getElementById("live")!);
