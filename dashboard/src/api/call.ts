// The client of the page: the one that the package exports, with the session's token. When the API does not accept the token, the
// session has ended. Every answer sets the page's clock.
import { clientOver, type MatoolkitClient } from '../../../src/api/client/client.ts'
import { type Send, transport } from '../../../src/api/client/transport.ts'
import { accessToken, apiUrl, forgetSession } from '../sign-in/session.ts'
import { followServerClock } from './server-clock.ts'

export { AdminApiError as ApiError } from '../../../src/api/client/api-error.ts'
export type { RequestOptions as CallOptions } from '../../../src/api/client/transport.ts'

const send = transport({
  url: apiUrl,
  token: async (isRefused) => {
    const token = isRefused ? null : await accessToken()
    if (token === null) forgetSession()
    return token
  },
  fetch: async (address, init) => {
    const answer = await fetch(address, init)
    followServerClock(answer.headers)
    return answer
  },
})

/** An empty filter is none. */
const sendChosen: Send = (endpoint, { query = {}, ...parts }, call, isRaw) => {
  const chosen = Object.entries(query).filter(([, value]) => value !== '')
  return send(endpoint, { ...parts, query: Object.fromEntries(chosen) }, call, isRaw)
}

export const client: MatoolkitClient = clientOver(sendChosen)
