// Replays vector files with a module's exports. It imports nothing, so its text runs anywhere.
export function play(exports, files) {
  const { memory } = exports;
  const played = { vectors: 0, steps: 0, differences: [] };
  for (const line of files.flatMap((file) => file.trimEnd().split("\n"))) {
    const bytes = new TextEncoder().encode(line);
    const at = exports.text(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    const steps = exports.play();
    played.vectors += 1;
    if (steps >= 0) {
      played.steps += steps;
    } else {
      const said = new Uint8Array(memory.buffer, exports.text_at(), exports.text_length());
      played.differences.push(new TextDecoder().decode(said));
    }
  }
  return played;
}
