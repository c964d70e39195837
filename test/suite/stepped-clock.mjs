// Preloaded into the command: the wall clock is stepped an hour back and, later, two hours forth, in the middle of the runs.
const real = Date.now;
let readings = 0;

Date.now = () => {
  readings += 1;
  if (readings < 60) return real();
  return real() + (readings < 200 ? -3_600_000 : 3_600_000);
};

process.on("exit", () => {
  if (readings < 200) throw new Error(`the clock was read only ${readings} times, so it was not stepped twice`);
});
