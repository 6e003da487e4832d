// The sandbox's control endpoints under /_sandbox/: state, journal, requests and faults. They need the token that
// the sandbox makes at its start.

import { hasToken } from './access.ts'
import type { IncomingRequest } from './api.ts'
import { ok, type SandboxResponse } from './call.ts'
import { type Faults, faultsSchema } from './faults.ts'
import type { Json } from './json.ts'
import { problemsOf } from './seed.ts'
import type { World } from './world.ts'

export interface ControlRoute {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly about: string
}

interface ControlHandler extends ControlRoute {
  handle(world: World, faults: Faults, incoming: IncomingRequest): SandboxResponse
}

/** Plain data, through JSON text. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

/** Entries after `?after=`, so that a reader can resume. */
const after = <Entry extends { readonly number: number }>(
  entries: readonly Entry[],
  { url }: IncomingRequest,
): readonly Entry[] => {
  const number = Number(url.searchParams.get('after') ?? 0)
  return entries.filter((entry) => entry.number > number)
}

const HANDLERS: readonly ControlHandler[] = [
  {
    method: 'GET',
    path: '/_sandbox/state',
    about: 'Returns the state of all tenants, which can seed another sandbox.',
    handle: (world) => ok(plain(world.state())),
  },
  {
    method: 'GET',
    path: '/_sandbox/journal',
    about: 'Lists every effect once, with its caller and request. `?after=` skips to a number.',
    handle: ({ journal }, _, incoming) =>
      ok(plain({ effects: after(journal.effects, incoming), dropped: journal.effectsDropped })),
  },
  {
    method: 'GET',
    path: '/_sandbox/requests',
    about: 'Lists the latest 20,000 requests with status and fault. `?after=` skips to a number.',
    handle: ({ journal }, _, incoming) =>
      ok(plain({ requests: after(journal.requests, incoming), made: journal.requestsMade })),
  },
  {
    method: 'GET',
    path: '/_sandbox/faults',
    about: 'Returns the fault settings.',
    handle: (_, faults) => ok(plain(faults.settings)),
  },
  {
    method: 'POST',
    path: '/_sandbox/faults',
    about: 'Replaces the fault settings; `{}` turns faults off.',
    handle: (_, faults, { text }) => setFaults(faults, text),
  },
]

export const CONTROL_ROUTES: readonly ControlRoute[] = HANDLERS

function setFaults(faults: Faults, text: string): SandboxResponse {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { status: 400, body: { error: 'The body is not JSON.' } }
  }
  const read = faultsSchema.safeParse(value)
  if (!read.success) return { status: 400, body: { error: problemsOf(read.error) } }
  faults.set(value as Parameters<Faults['set']>[0])
  return ok(plain(faults.settings))
}

const NO_TOKEN: SandboxResponse = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer realm="sandbox"' },
  body: {
    error:
      "Send the sandbox's token: Authorization: Bearer <token>. It lies in the file that the sandbox named at its start.",
  },
}

export function controlResponse(
  world: World,
  faults: Faults,
  incoming: IncomingRequest,
  token: string,
): SandboxResponse {
  const { method, url, headers } = incoming
  if (!hasToken(headers.authorization, token)) return NO_TOKEN
  const route = HANDLERS.find(
    (handler) => handler.method === method && handler.path === url.pathname,
  )
  if (route) return route.handle(world, faults, incoming)
  const known = HANDLERS.map((handler) => `${handler.method} ${handler.path}`).join(', ')
  return {
    status: 404,
    body: { error: `There is no ${method} ${url.pathname}. Use one of: ${known}.` },
  }
}
