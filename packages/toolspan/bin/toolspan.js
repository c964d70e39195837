#!/usr/bin/env node
// The command: committed as it is, because npm links no bin whose file is missing at install.
import { main } from "../dist/main.js";

process.exitCode = await main(process.argv.slice(2));
