// One group of rows, in this process; prints them as the last line of JSON.
const group = process.argv[2];
const { rows } = await import(`./${group}.mjs`);
console.log(`\n${JSON.stringify(await rows())}`);
process.exit(0);
