// A TokenCredential as Microsoft's SDKs take it, over our own tokens.
import type { Clock } from '../run/clock.ts'
import type { TokenRequest, Tokens } from './token.ts'

export interface AzureCredential {
  getToken(): Promise<{ readonly token: string; readonly expiresOnTimestamp: number }>
}

/** `Tokens` renews five minutes before the end, so a token is good for that long at least. */
const GOOD_FOR_MS = 300_000
/** The SDKs ask for a new token two minutes before the end, and for one that ends sooner at once and without pause. */
const ASKED_BEFORE_MS = 120_000
const ASKED_AGAIN_MS = 1_000

export const azureCredential = (
  tokens: Tokens,
  request: TokenRequest,
  clock: Clock,
): AzureCredential => ({
  getToken: async () => {
    const token = await tokens.get(request)
    const nowMs = +clock.now()
    const endsAtMs = endOf(token) ?? nowMs + GOOD_FOR_MS
    return {
      token,
      expiresOnTimestamp: Math.max(endsAtMs, nowMs + ASKED_BEFORE_MS + ASKED_AGAIN_MS),
    }
  },
})

/** When a JWT ends; null if it is none. */
function endOf(token: string): number | null {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof claims.exp === 'number' ? claims.exp * 1_000 : null
  } catch {
    return null
  }
}
