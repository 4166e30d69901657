// The rows of the committed tables: the results of fleets by stretch.

/** The head of a table. */
export const HEAD = [
  "| law | stretch | util | throttled | jain | no round trip | alone | excess | msg/s | msg/call | must |",
  "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
];

const percent = (part, digits) => `${(part * 100).toFixed(digits)} %`;

/** The rows of a fleet with a law. `bound` is the maximum excess of `fixed`. */
export function rows(law, { stretches, inHand, lost, crashed, twice }, bound) {
  const lines = stretches.map((is) => {
    const must = is.must && (misses(is) ?? "met");
    const more = law === "fixed" && is.excess > bound ? "**excess**" : undefined;
    const shared = is.asked ? [percent(is.local, 1), percent(is.alone, 1)] : ["", ""];
    const messages = is.asked ? [is.asked.toFixed(1), is.perCall.toFixed(2)] : ["", ""];
    const cells = [
      law, `${is.stretch}, ${is.seconds.toFixed(0)} s`, percent(is.utilisation, 1), percent(is.throttled, 2), is.jain.toFixed(4),
      ...shared, is.excess.toFixed(1), ...messages, [must, more].filter(Boolean).join(", "),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [...lines, `| ${law} | in all | lost ${lost} | twice ${twice} | crashed ${crashed} | | | held ${inHand} | | | ${lost + twice ? "**not met**" : "met"} |`];
}

function misses({ must, ...is }) {
  const wrong = Object.entries(must).filter(([name, bar]) => (name === "throttled" ? is[name] > bar : is[name] < bar));
  return wrong.length ? `**not met**: ${wrong.map(([name, bar]) => `${name} ${bar}`).join(", ")}` : undefined;
}
