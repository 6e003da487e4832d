// What validation, plans and editors know of the standard functions without asking a worker. The file is written by `npm run docs` from the
// definitions; this module loads none of their code.
import type { FunctionCatalogue } from '../domain/runbook/catalogues.ts'
import standardFunctions from './standard-functions.json' with { type: 'json' }

/** Without a worker's id: every worker of this program has them. */
export const M365_CATALOGUE = {
  workerId: null,
  functions: standardFunctions as NonNullable<FunctionCatalogue['functions']>,
} as const satisfies FunctionCatalogue
