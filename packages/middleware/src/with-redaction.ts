/** The layer that masks secrets in arguments on their way in, and in results, errors and audit on their way out. */

export { composeRedactors, type RedactionInput, type RedactionOutput, type Redactor } from "./redactor.ts";
