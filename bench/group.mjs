// One case of one group, in this process; prints its rows as the last line of JSON. Without a case, the names of the group's cases.
const [group, name] = process.argv.slice(2);
const { cases } = await import(`./${group}.mjs`);
console.log(`\n${JSON.stringify(name === undefined ? Object.keys(cases) : await cases[name]())}`);
process.exit(0);
