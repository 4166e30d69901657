// Repeats a trace with a module's exports: the first answer that differs, or how many there were.
// It imports nothing, so that its text runs anywhere.
export function repeat(exports, text) {
  const lines = text.trim().split("\n");
  for (const [index, line] of lines.entries()) {
    const [verb, numbers, expected] = JSON.parse(line);
    const given = numbers.map(Number);
    if (verb === "open") {
      new Float64Array(exports.memory.buffer, exports.numbers(), 18).set(given.splice(0, 18));
    }
    const answer = exports[verb](...given) ?? 0;
    if (!Object.is(answer, Number(expected)) && answer !== Number(expected)) {
      return `line ${index + 1}, ${line}: the module says ${answer}`;
    }
  }
  return lines.length;
}
