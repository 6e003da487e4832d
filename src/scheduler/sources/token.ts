// Access tokens for data sources: those of src/sign-in, with what goes wrong in the words that sources share.
import type { Clock } from '../../clock.ts'
import {
  makeTokens as makeSignInTokens,
  SignInFault,
  type TokenEndpoints,
  type Tokens,
} from '../../sign-in/token.ts'
import { SourceFault } from './fault.ts'

export type { TokenEndpoints, TokenRequest, Tokens } from '../../sign-in/token.ts'
export { causeOf } from '../../sign-in/token.ts'

/** As in src/sign-in, but what it throws is a SourceFault. */
export function makeSourceTokens(clock: Clock, endpoints?: TokenEndpoints): Tokens {
  const tokens = makeSignInTokens(clock, endpoints)
  return {
    get: async (request, refused) => {
      try {
        return await tokens.get(request, refused)
      } catch (error) {
        if (!(error instanceof SignInFault)) throw error
        throw new SourceFault(error.kind, error.message, error.cause)
      }
    },
  }
}
