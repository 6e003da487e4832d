// The sandbox's own addresses, under /_sandbox/: what the tenants look like, what was done to them, and what shall go wrong. They
// need no token, and no part of Microsoft 365 answers there.
import type { Json } from '../domain/json.ts'
import type { Incoming } from './api.ts'
import { ok, type SandboxResponse } from './call.ts'
import { type Faults, faultsSchema } from './faults.ts'
import { problemsOf } from './seed.ts'
import type { World } from './world.ts'

export interface ControlRoute {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly about: string
}

interface Handled extends ControlRoute {
  handle(world: World, faults: Faults, incoming: Incoming): SandboxResponse
}

/** Plain data, by way of its text. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

/** Those after the number in `?after=`, so that a reader need not begin anew. */
const after = <Entry extends { readonly number: number }>(
  entries: readonly Entry[],
  { url }: Incoming,
): readonly Entry[] => {
  const number = Number(url.searchParams.get('after') ?? 0)
  return entries.filter((entry) => entry.number > number)
}

const HANDLED: readonly Handled[] = [
  {
    method: 'GET',
    path: '/_sandbox/state',
    about: 'Everything in the tenants. It can be the seed of another sandbox.',
    handle: (world) => ok(plain(world.state())),
  },
  {
    method: 'GET',
    path: '/_sandbox/journal',
    about:
      'Every change of state, once, with who made it and by which request. `?after=` a number.',
    handle: ({ journal }, _, incoming) =>
      ok(plain({ effects: after(journal.effects, incoming), dropped: journal.effectsDropped })),
  },
  {
    method: 'GET',
    path: '/_sandbox/requests',
    about: 'The latest 20,000 requests with status and fault. `?after=` a number.',
    handle: ({ journal }, _, incoming) =>
      ok(plain({ requests: after(journal.requests, incoming), made: journal.requestsMade })),
  },
  {
    method: 'GET',
    path: '/_sandbox/faults',
    about: 'What shall go wrong.',
    handle: (_, faults) => ok(plain(faults.settings)),
  },
  {
    method: 'POST',
    path: '/_sandbox/faults',
    about: 'Replaces what shall go wrong; `{}` for nothing.',
    handle: (_, faults, { text }) => setFaults(faults, text),
  },
]

export const CONTROL_ROUTES: readonly ControlRoute[] = HANDLED

function setFaults(faults: Faults, text: string): SandboxResponse {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { status: 400, body: { error: 'The body is no JSON.' } }
  }
  const read = faultsSchema.safeParse(value)
  if (!read.success) return { status: 400, body: { error: problemsOf(read.error) } }
  faults.set(value as Parameters<Faults['set']>[0])
  return ok(plain(faults.settings))
}

export function controlAnswer(world: World, faults: Faults, incoming: Incoming): SandboxResponse {
  const { method, url } = incoming
  const route = HANDLED.find((one) => one.method === method && one.path === url.pathname)
  if (route) return route.handle(world, faults, incoming)
  const known = HANDLED.map((one) => `${one.method} ${one.path}`).join(', ')
  return {
    status: 404,
    body: { error: `There is no ${method} ${url.pathname}; there are ${known}.` },
  }
}
