import { render } from "preact";
import { inside } from "./api";
import { App } from "./app";
import { Report } from "./report";
import "uplot/dist/uPlot.min.css";
import "./style.css";

try {
  const theme = localStorage.getItem("zscope-theme");
  if (!inside && (theme === "light" || theme === "dark")) document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's choice */ }
const place = document.getElementById("app")!;
place.textContent = "";
render(inside ? <Report /> : <App />, place);
