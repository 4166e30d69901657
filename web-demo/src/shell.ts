/** What the laboratory and Live share: styles, and the switch between light and dark. */

import "./style/tokens.css";
import "./style/page.css";
import "./style/figure.css";
import { themeSwitch } from "./plot/theme";

themeSwitch(document.getElementById("theme")!);
