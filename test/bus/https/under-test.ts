// The transport `https` under test: real HTTP to two APIs behind a load balancer, so that hardly any lease is renewed or ended where it was given.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Api, openApi } from '../../../src/api/api.ts'
import type { ApiBus } from '../../../src/api/route.ts'
import { newCredentialId, newWorkerToken } from '../../../src/base/keys/worker-token.ts'
import { createLog } from '../../../src/base/log/log.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import type { Bus } from '../../../src/bus/bus.ts'
import { openHttpsBus } from '../../../src/bus/https/https-bus.ts'
import { insertWorkerCredential } from '../../../src/db/orders/worker-credentials.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { LOCAL } from '../../api/under-test.ts'

export interface OpenedApi {
  readonly api: Api
  readonly url: string
  readonly adminToken: string
  close(): Promise<void>
}

export async function openPlainApi(
  engine: Engine,
  bus: ApiBus,
  clock: Clock,
  onLine: (line: string) => void = () => {},
): Promise<OpenedApi> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-https-'))
  const apiTokenFile = join(folder, 'private', 'api-token')
  const log = createLog({ level: 'warn', format: 'json', clock, destination: { write: onLine } })
  const api = openApi({ config: { ...LOCAL, apiTokenFile }, engine, bus, clock, log })
  api.start()
  const url = await api.listening
  const close = async () => {
    await api.stop()
    rmSync(folder, { recursive: true })
  }
  return { api, url, adminToken: readFileSync(apiTokenFile, 'utf8'), close }
}

/** Gives every request to the next API. */
export async function openBalancer(
  urls: readonly string[],
): Promise<{ url: string; server: Server }> {
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    turn += 1
    const { hostname, port } = new URL(urls[turn % urls.length]!)
    const { method, url: path, headers } = incoming
    const passed = httpRequest({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}`, server }
}

/** A token of the worker, stored as the API stores it. */
export async function tokenFor({ db, clock }: Pick<Engine, 'db' | 'clock'>, workerId: string) {
  const id = newCredentialId()
  const { token, hash: tokenHash } = newWorkerToken(id)
  const createdAt = clock.now()
  const endsAt = new Date(+createdAt + 365 * 24 * 3_600_000)
  const none = { certificate: null, thumbprint: null, address: null }
  await db.transaction((tx) =>
    insertWorkerCredential(tx, {
      id,
      workerId,
      kind: 'token',
      tokenHash,
      ...none,
      createdAt,
      createdBy: randomUUID(),
      endsAt,
    }),
  )
  return { id, token }
}

export const clientOf = (workerId: string, apiUrl: string, token: string, clock: Clock): Bus =>
  openHttpsBus({ workerId, clock, access: { apiUrl, token: async () => token } })
