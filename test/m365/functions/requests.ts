// Records every request that the functions make, for review against Microsoft's documentation. `npm run docs` writes
// requests.http; a test keeps it current.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { caseOf, type Params } from './cases.ts'
import { within } from './setting.ts'
import { ADA, LEAD, OBRIEN } from './tenants.ts'
import { withinWave } from './wave.ts'

export const REQUESTS_FILE = join(import.meta.dirname, 'requests.http')

interface Made {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly status: number
}

/** Headers common to all requests are listed once, at the top. */
const SHOWN_HEADERS = ['x-cmdletname', 'x-anchormailbox', 'prefer']

/** A proxy between client and sandbox that records what passes. */
async function openRecorder(target: string, made: Made[]) {
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts)
    const { method = 'GET', url: path = '/', headers } = request
    const answer = await fetch(target + path, {
      method,
      headers: { ...(headers as Record<string, string>), host: new URL(target).host },
      ...(body.length > 0 ? { body } : {}),
    })
    const text = await answer.text()
    made.push({ method, path, headers, body: body.toString(), status: answer.status })
    const type = answer.headers.get('content-type')
    response.writeHead(answer.status, type ? { 'content-type': type } : {}).end(text)
  }
  const server = createServer((request, response) => void pass(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const GRAPH = 'https://graph.microsoft.com'
const EXCHANGE = 'https://outlook.office365.com'

function textOf(
  title: string,
  { method, path, headers, body, status }: Made,
  recorder: string,
): string {
  const host = path.startsWith('/adminapi/') ? EXCHANGE : GRAPH
  const shown = SHOWN_HEADERS.filter((name) => headers[name] !== undefined)
  const lines = [
    `${method} ${host}${path}`,
    ...shown.map((name) => `${name}: ${headers[name]}`),
    ...(body === '' ? [] : ['', JSON.stringify(JSON.parse(body), null, 2)]),
  ]
  const text = lines
    .join('\n')
    .replaceAll(recorder, GRAPH)
    .replace(/"(password)": "[^"]*"/i, '"$1": "(of the vault)"')
  return `### ${title} → ${status}\n${text}`
}

/** Those of `tell`, which gets the proxy to put between worker and tenant. */
async function recorded(
  title: string,
  tell: (between: (url: string) => Promise<string>) => Promise<unknown>,
): Promise<string> {
  const made: Made[] = []
  let recorder: Awaited<ReturnType<typeof openRecorder>> | undefined
  try {
    await tell(async (url) => {
      recorder = await openRecorder(url, made)
      return recorder.url
    })
    return made.map((one) => textOf(title, one, recorder!.url)).join('\n\n')
  } finally {
    recorder?.close()
  }
}

const sectionOf = (name: string): Promise<string> =>
  recorded(name, (between) => within({ between }, ({ run }) => run(name, caseOf(name).params)))

/** Two people for each function that acts on many. */
const PAIRS: Readonly<Record<string, readonly [Params, Params]>> = {
  'Add-EntraGroupMember': [{ UserId: OBRIEN }, { UserId: ADA }],
  'Test-EntraGroupMembership': [{ UserId: LEAD }, { UserId: ADA }],
  'Add-MigrationUser': [{}, { Identity: 'ada@contoso.example' }],
  'Test-MigrationUser': [
    { BatchName: 'under way' },
    { BatchName: 'under way', Identity: 'synced@contoso.example' },
  ],
  'Test-ExchangeGroupMembership': [{}, { MemberIdentity: 'ada@contoso.example' }],
}

const pairSectionOf = (name: string): Promise<string> =>
  recorded(`${name}, for two`, (between) =>
    withinWave({ between }, (wave) => {
      const pair = PAIRS[name]!.map((one) => ({ ...caseOf(name).params, ...one }))
      return wave.run(name, pair, { isPolled: name.startsWith('Test-') })
    }),
  )

const HEAD = `# What each function sends when it runs once with the parameters of cases.ts and nothing goes wrong; one that acts on many also for two
# people together. After the arrow stands the status of the answer. Every request also has authorization, accept: application/json and
# client-request-id, with a body content-type: application/json; those to Exchange also x-responseformat: json and connection-id. The tenant is
# a sandbox; addresses are written as Microsoft's. Generated: npm run docs`

export async function requestsText(): Promise<string> {
  const sections: string[] = []
  for (const { name, together } of STANDARD_FUNCTIONS) {
    sections.push(await sectionOf(name))
    if (together) sections.push(await pairSectionOf(name))
  }
  return `${[HEAD, ...sections].join('\n\n')}\n`
}
