// A program of somebody else on the port of an API: it answers as an API would and records what it receives. It never gets a token,
// a member file or a name.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { randomText } from '../../../src/base/keys/local-token.ts'
import { registerInstance } from '../../../src/cli/connection/instances.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { type Cli, openCli, type Said, setEnv } from '../against-api.ts'

const PERSON = 'ada@x.example'

describe('a program on the port of an API', () => {
  const home = mkdtempSync(join(tmpdir(), 'matoolkit-squatter-'))
  const tokenFile = join(home, 'api-token')
  const token = randomText()
  let received = ''
  /** What it answers to a request for a proof. */
  let proofFor: (path: string) => Promise<string> = async () => randomText()
  let [cli, squatter, url]: [Cli?, Server?, string?] = []
  before(async () => {
    cli = await openCli()
    squatter = createServer((request, response) => {
      received += `${request.method} ${request.url} ${JSON.stringify(request.rawHeaders)}\n`
      request.on('data', (bytes: Buffer) => {
        received += bytes.toString('utf8')
      })
      request.on('end', () => void answer(request.url!).then((body) => response.end(body)))
    })
    await new Promise<void>((done) => squatter!.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(squatter.address() as AddressInfo).port}`
    writeFileSync(tokenFile, token, { mode: 0o600 })
    setEnv({ MATOOLKIT_HOME: home, MATOOLKIT_API_URL: undefined, MATOOLKIT_TOKEN: undefined })
  })
  after(async () => {
    squatter!.closeAllConnections()
    await new Promise((done) => squatter!.close(done))
    rmSync(home, { recursive: true })
    await cli!.close()
  })
  afterEach(() => {
    received = ''
    proofFor = async () => randomText()
    setEnv({ MATOOLKIT_API_URL: undefined, MATOOLKIT_TOKEN: undefined })
  })

  const answer = async (path: string): Promise<string> =>
    JSON.stringify(
      path.startsWith('/api/sign-in/proof')
        ? { proof: await proofFor(path) }
        : { status: 'healthy', batches: [], next: null },
    )

  const note = (pid: number, file = tokenFile) =>
    registerInstance({
      folder: home,
      url: url!,
      pid,
      tokenFile: file,
      startedAt: '2030-03-01T20:00:00.000Z',
    })

  /** Reads, uploads people, names one. Each command is refused with the code. */
  async function refusesAll(code: string, exit: number, ...flags: string[]): Promise<Said[]> {
    const people = cli!.file('people.csv', plainCsv(PERSON))
    const commands = [
      ['batch', 'list'],
      ['batch', 'create', 'plain', people],
      ['runbook', 'publish', cli!.file('plain.yaml', plain())],
      ['hold', '--all', '--reason', PERSON],
    ]
    const all: Said[] = []
    for (const command of commands) {
      const said = await cli!.cli(...command, ...flags)
      assert.equal(said.exit, exit, said.err)
      assert.match(said.err, new RegExp(`\\(${code}\\)\\n$`))
      all.push(said)
    }
    return all
  }

  function gotNothing(...secrets: string[]): void {
    for (const secret of [...secrets, token, PERSON, 'authorization', 'data_source']) {
      assert.ok(!received.toLowerCase().includes(secret.toLowerCase()), `${secret}:\n${received}`)
    }
  }

  it('gets no token of a note that leads to it, and nothing else', async () => {
    const remove = note(process.pid)
    const [list] = await refusesAll('API_UNPROVEN', EXIT.unavailable)
    assert.match(list!.err, /^matoolkit: Nothing was sent to http:.* does not know the token\. If/)
    remove()
    assert.match(received, /GET \/api\/sign-in\/proof\?nonce=/)
    gotNothing()
  })

  it('gets no token by passing the question on to the API that has it', async () => {
    const real = cli!.api
    proofFor = async (path) => {
      const asked = await fetch(`${real.url}${path}`)
      return ((await asked.json()) as { proof: string }).proof
    }
    const file = join(home, 'real-token')
    writeFileSync(file, real.token, { mode: 0o600 })
    const remove = note(process.pid, file)
    await refusesAll('API_UNPROVEN', EXIT.unavailable)
    remove()
    gotNothing(real.token)
  })

  it('gets no local token from MATOOLKIT_TOKEN', async () => {
    setEnv({ MATOOLKIT_TOKEN: token })
    await refusesAll('API_UNPROVEN', EXIT.unavailable, '--api-url', url!)
    gotNothing()
    const byName = url!.replace('127.0.0.1', 'localhost')
    const [list] = await refusesAll('API_UNPROVEN', EXIT.unavailable, '--api-url', byName)
    assert.match(list!.err, /Write 127\.0\.0\.1 instead of localhost/)
    gotNothing()
  })

  it('gets no people from a command that has no token', async () => {
    await refusesAll('API_NOT_UNDERSTOOD', EXIT.unavailable, '--api-url', url!)
    assert.match(received, /GET \/api\/me /)
    gotNothing()
  })

  it('gets nothing by the note of an instance that has ended', async () => {
    note(2 ** 22 + 1)
    await refusesAll('API_NOT_UNDERSTOOD', EXIT.unavailable, '--api-url', url!)
    gotNothing()
  })

  it('gets nothing by a note or a token file that others could have written', async () => {
    const open = join(home, 'open-token')
    writeFileSync(open, token, { mode: 0o644 })
    const remove = note(process.pid, open)
    await refusesAll('API_NOT_UNDERSTOOD', EXIT.unavailable, '--api-url', url!)
    remove()
    gotNothing()
  })

  it('on another machine gets no token over plain http', async () => {
    for (const given of [token, 'a.b.c']) {
      setEnv({ MATOOLKIT_TOKEN: given })
      const [list] = await refusesAll('API_NOT_SECURE', EXIT.usage, '--api-url', 'http://192.0.2.1')
      assert.match(list!.err, /Cannot send a token to http:\/\/192\.0\.2\.1: without https/)
    }
    assert.equal(received, '')
  })
})
