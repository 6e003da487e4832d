// A sandbox on a virtual clock, called over plain HTTP.
import assert from 'node:assert/strict'
import type { Effect, RequestMade } from '../../sandbox/journal.ts'
import { type OpenSandboxOptions, openSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import { stateOf } from '../../sandbox/seed.ts'
import { DEFAULT_CLIENT_ID, DEFAULT_SECRET, type Seed } from '../../sandbox/state.ts'
import { type VirtualClock, virtualClock } from '../../src/base/run/clock.ts'
import type { Json } from '../../src/base/text/json.ts'

export type JsonObject = { readonly [key: string]: Json }

export const START = new Date('2030-03-01T08:00:00.000Z')
export const GRAPH = 'https://graph.microsoft.com/.default'
export const EXCHANGE = 'https://outlook.office365.com/.default'
export const PASSWORD = { password: 'Correct-Horse-7', forceChangePasswordNextSignIn: true }

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: JsonObject
  readonly text: string
}

export interface Asking {
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
  readonly tenant?: string
  readonly token?: string
}

export interface UnderTest extends AsyncDisposable {
  readonly sandbox: Sandbox
  readonly clock: VirtualClock
  send(method: string, path: string, asking?: Asking): Promise<Reply>
  /** A token for a scope, in the first tenant by default. */
  token(scope: string, tenant?: string): Promise<string>
  /** Calls Graph, signed in; the path begins with the version. */
  graph(method: string, path: string, body?: Json, asking?: Asking): Promise<Reply>
  exchange(
    cmdlet: string,
    parameters?: JsonObject,
    asking?: Asking & { query?: string },
  ): Promise<Reply>
  effects(): Promise<readonly Effect[]>
  /** The recorded effects. */
  done(): Promise<readonly string[]>
  requests(): Promise<readonly RequestMade[]>
}

export async function openUnderTest(
  seed: Seed,
  options: Partial<Omit<OpenSandboxOptions, 'seed'>> = {},
): Promise<UnderTest> {
  const clock = virtualClock(START)
  const sandbox = await openSandbox({ clock, seed, ...options })
  const [first] = sandbox.state().tenants
  const tokens = new Map<string, string>()
  const control = { authorization: `Bearer ${sandbox.controlToken}` }
  const send = (method: string, path: string, asking: Asking = {}) =>
    request(sandbox.url + path, method, {
      ...asking,
      headers: { ...(path.startsWith('/_sandbox/') ? control : {}), ...asking.headers },
    })
  const token = async (scope: string, tenant: string = first!.id) => {
    const reply = await send('POST', `/${tenant}/oauth2/v2.0/token`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formOf({ scope }),
    })
    assert.equal(reply.status, 200, reply.text)
    return String(reply.body.access_token)
  }
  const signedIn = async (scope: string, asking: Asking): Promise<Asking> => {
    const key = `${scope} ${asking.tenant}`
    if (asking.token === undefined && !tokens.has(key))
      tokens.set(key, await token(scope, asking.tenant))
    const bearer = asking.token ?? tokens.get(key)!
    return { ...asking, headers: { authorization: `Bearer ${bearer}`, ...asking.headers } }
  }
  const listed = async (path: string, key: string) => (await send('GET', path)).body[key]
  return {
    sandbox,
    clock,
    send,
    token,
    graph: async (method, path, body, asking = {}) =>
      send(
        method,
        path,
        await signedIn(GRAPH, { ...asking, ...(body === undefined ? {} : { body }) }),
      ),
    exchange: async (cmdlet, parameters = {}, asking = {}) => {
      const tenant = asking.tenant ?? first!.id
      const body = { CmdletInput: { CmdletName: cmdlet, Parameters: parameters } }
      const path = `/adminapi/beta/${tenant}/InvokeCommand${asking.query ?? ''}`
      return send('POST', path, await signedIn(EXCHANGE, { ...asking, body }))
    },
    effects: async () => (await listed('/_sandbox/journal', 'effects')) as unknown as Effect[],
    done: async () => {
      const effects = (await listed('/_sandbox/journal', 'effects')) as unknown as Effect[]
      return effects.map(({ what }) => what)
    },
    requests: async () =>
      (await listed('/_sandbox/requests', 'requests')) as unknown as RequestMade[],
    [Symbol.asyncDispose]: async () => {
      const state = sandbox.state()
      await sandbox.close()
      // After every test its state must round-trip as a seed.
      assert.deepEqual(stateOf(state), state)
    },
  }
}

/** A token request. */
export const formOf = (more: Readonly<Record<string, string>>): string =>
  new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: DEFAULT_CLIENT_ID,
    client_secret: DEFAULT_SECRET,
    ...more,
  }).toString()

async function request(
  url: string,
  method: string,
  { body, headers = {} }: Asking,
): Promise<Reply> {
  const isText = typeof body === 'string'
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? (JSON.parse(text) as JsonObject) : {},
    text,
  }
}

export const errorOf = (reply: Reply): { code: string; message: string; details?: JsonObject[] } =>
  reply.body.error as unknown as { code: string; message: string; details?: JsonObject[] }

/** Asserts a Graph refusal. */
export function assertRefused(reply: Reply, status: number, code: string, message: RegExp): void {
  assert.equal(reply.status, status, reply.text)
  assert.equal(errorOf(reply).code, code)
  assert.match(errorOf(reply).message, message)
}

/** Asserts a cmdlet failure: its exception without namespace, and the text. */
export function assertCmdletFailed(
  reply: Reply,
  status: number,
  exception: string,
  message: RegExp,
): void {
  assert.equal(reply.status, status, reply.text)
  const [, type, text] = String(errorOf(reply).details?.[0]?.message).split('|')
  assert.equal(type?.split('.').at(-1), exception)
  assert.match(text ?? '', message)
}

export const itemsOf = (reply: Reply): readonly JsonObject[] => {
  assert.equal(reply.status, 200, reply.text)
  return reply.body.value as unknown as JsonObject[]
}

/** An id that is easy to recognise. */
export const id = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
