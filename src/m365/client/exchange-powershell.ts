// The supported way to Exchange: Microsoft's own module, ExchangeOnlineManagement, in the worker's PowerShell. It takes the requests of
// ExchangeOnline and answers as the REST endpoint would, so throttling, retries and what an error means are the same on both ways.
import { messageOf } from '../../base/errors/errors.ts'
import { maskSecrets } from '../../base/log/redact.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import { SignInFault } from '../../base/sign-in/token.ts'
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'
import { ConnectionLost, type HttpRequest, type HttpResponse } from '../../worker/http/http.ts'
import { PowerShellFailure } from '../../worker/powershell/session.ts'
import { PowerShellSessions } from '../../worker/powershell/sessions.ts'
import type { Credential } from './connect.ts'

export function openExchangeModule(config: Config, credential: Credential, clock: Clock) {
  const sessions = new PowerShellSessions([], { program: config.pwsh, clock })
  const { appId, organization, cloud } = config
  const ask = async (token: string, cmdlet: JsonObject, signal: AbortSignal) => {
    const certificates = await certificatesOf(credential)
    const signIn = { tokens: { exchange: token }, certificates, appId, organization, cloud }
    let wasSent = false
    const sent = () => {
      wasSent = true
    }
    try {
      return await sessions.run({ ask: 'exchange', ...signIn, ...cmdlet }, signal, sent)
    } catch (error) {
      const message = String(maskSecrets(messageOf(error)))
      if (signal.aborted || !(error instanceof PowerShellFailure))
        throw new ConnectionLost(wasSent, new Error(message, { cause: error }))
      throw new PowerShellFailure({ ...error.thrown, message })
    }
  }
  return {
    send: async ({ url, headers, body, signal }: HttpRequest): Promise<HttpResponse> => {
      const token = (headers.authorization ?? '').replace(/^Bearer /, '')
      try {
        const { result, warnings } = await ask(token, cmdletOf(url, body), signal)
        return answer(200, { value: result, '@adminapi.warnings': [...warnings] })
      } catch (error) {
        if (error instanceof PowerShellFailure) return refusalOf(error)
        throw error
      }
    },
    /** Connects once, so that a missing module is found at the start. Throws SignInFault. */
    connect: async (token: string): Promise<void> => {
      await ask(token, {}, new AbortController().signal).catch((error: unknown) => {
        // Without program or module it will not work later either.
        const isMissing = /not installed|not recognized/.test(messageOf(error))
        const reason = `Exchange cannot be reached through PowerShell, as MATOOLKIT_EXCHANGE_URL says: ${messageOf(error)}`
        throw new SignInFault(isMissing ? 'sign_in' : 'unreachable', reason, error)
      })
    },
    close: () => sessions.close(),
  }
}

async function certificatesOf(credential: Credential) {
  if (!('certificate' in credential)) return []
  const candidates = await credential.certificate.candidates()
  return candidates.map(({ certificate, key }) => ({
    certificate: certificate.toString(),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }))
}

/** Cmdlet and parameters as PowerShell takes them. */
function cmdletOf(url: string, body: string | null): JsonObject {
  const { CmdletInput } = JSON.parse(body ?? '{}') as {
    CmdletInput: { CmdletName: string; Parameters: JsonObject }
  }
  const select = new URL(url).searchParams.get('$select')?.split(',') ?? null
  return {
    cmdlet: CmdletInput.CmdletName,
    parameters: withoutTypes(CmdletInput.Parameters),
    select,
  }
}

/** Types are for OData only, but for bytes, which PowerShell has as numbers. */
function withoutTypes(parameters: JsonObject): JsonObject {
  const named = Object.entries(parameters).filter(([name]) => !name.includes('@'))
  return Object.fromEntries(named.map(([name, value]) => [name, plainOf(value)]))
}

function plainOf(value: Json): Json {
  if (!isObject(value)) return value
  const isBytes = value['@odata.type'] === '#Exchange.ByteArrayType'
  return isBytes ? [...Buffer.from(String(value.Data), 'base64')] : withoutTypes(value)
}

const NO_CMDLET = 'CommandNotFoundException'
const STATUS = /(?:HttpStatusCode=|does not indicate success: |returned an error: \()(\d{3})\b/
/** No answer came, or half of one. A service that names its exception did answer. */
const CUT_OFF = /^(?:HttpRequest|Web|Socket|IO|HttpIO|(?:Task|Operation)Canceled|Timeout)Exception$/
/** The session is gone: the client signs in again, and with another token the host connects again. */
const SIGNED_OUT = /call the Connect-ExchangeOnline cmdlet|token (?:has |is )?expired/i

function statusOf({ thrown: { type, message, status } }: PowerShellFailure): number {
  if (status) return status
  const told = STATUS.exec(message)
  if (told) return Number(told[1])
  if (type === NO_CMDLET) return 403
  return SIGNED_OUT.test(message) ? 401 : 400
}

function refusalOf(failure: PowerShellFailure): HttpResponse {
  const { type, message, isBefore, retryAfterSec, errorId } = failure.thrown
  const status = statusOf(failure)
  // Before the cmdlet began only the connection can fail, unless there is no such cmdlet.
  if (isBefore && type !== NO_CMDLET) throw new ConnectionLost(false, failure)
  if (status === 400 && CUT_OFF.test(type) && !message.includes('|'))
    throw new ConnectionLost(true, failure)
  const requestId = /RequestId=([\w-]+)/.exec(errorId ?? '')?.[1]
  // Without a message the client says what a missing cmdlet means.
  const told = { code: type, ...(type === NO_CMDLET ? {} : { message }) }
  return answer(
    status,
    { error: told },
    {
      ...(retryAfterSec ? { 'retry-after': String(Math.ceil(retryAfterSec)) } : {}),
      ...(requestId ? { 'request-id': requestId } : {}),
    },
  )
}

const answer = (
  status: number,
  body: Json,
  headers: Record<string, string> = {},
): HttpResponse => ({
  status,
  headers: new Headers(headers),
  text: JSON.stringify(body),
})
