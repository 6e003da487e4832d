// Errors of signing in, of people, programs and the command line. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const SIGN_IN_ERRORS = errorRows({
  NOT_SIGNED_IN: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'You are not signed in. Send an access token: Authorization: Bearer <token>.',
  },
  TOKEN_REFUSED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'The access token was refused: {reason}. Sign in again and send the new token.',
  },
  NOT_ALLOWED: {
    http: 403,
    exit: EXIT.notAllowed,
    sentence: 'You are signed in, but this needs {what}. Ask your matoolkit administrator.',
  },
  SIGN_IN_UNAVAILABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'Cannot fetch the keys of the issuer {issuer}: {reason}. Try again in a minute; if it persists, check the issuer and the network.',
  },
  SIGN_IN_NOT_OFFERED: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Signing in to {url} needs {missing}. Set it with "matoolkit config set", or ask the operator of that API.',
  },
  SIGN_IN_FAILED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence:
      'Sign-in at {issuer} failed: {reason}. Run "matoolkit auth login" again; for an application, check its client id and secret.',
  },
  SIGN_IN_LOCAL: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'The API at {url} uses a local token file, so there is no sign-in. Run commands on its machine, or set MATOOLKIT_TOKEN.',
  },
  SIGN_IN_NEEDED: {
    http: 401,
    exit: EXIT.notSignedIn,
    sentence: 'You are not signed in to {url}. Run "matoolkit auth login".',
  },
  LOCAL_TOKEN_UNFIT: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'Another process uses the local token file "{file}", but it is missing, holds something else, or other users can read it. Stop that process and start again, or set MATOOLKIT_API_TOKEN_FILE to another file.',
  },
  ISSUER_UNREACHABLE: {
    http: 503,
    exit: EXIT.unavailable,
    sentence:
      'The issuer {issuer} is unreachable: {reason}. Check the address with "matoolkit config show" and the network, then try again.',
  },
  API_NOT_SECURE: {
    http: 400,
    exit: EXIT.usage,
    sentence:
      'Cannot send a token to {url}: without https others could read it. Use an https address.',
  },
  API_EXPOSED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The API must not listen on "{host}" without sign-in, because other machines can reach it. Set MATOOLKIT_OIDC_ISSUERS and MATOOLKIT_OIDC_AUDIENCES, or use 127.0.0.1.',
  },
})
