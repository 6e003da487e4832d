// examples/assistant-tools.mjs, as an assistant starts it: it speaks the protocol and nothing else, reads, and changes nothing.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { assembleClient } from '../../../scripts/package-tree.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { openApiUnderTest } from '../../api/under-test.ts'
import { ROOT } from '../../kit/processes.ts'

interface Answer {
  readonly jsonrpc: string
  readonly id: number
  readonly result?: {
    readonly tools?: readonly { name: string; inputSchema: { required: string[] } }[]
    readonly content?: readonly { text: string }[]
    readonly isError?: boolean
  }
  readonly error?: { readonly code: number }
}

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-assistant-'))
after(() => rmSync(folder, { recursive: true }))
const example = join(folder, 'assistant-tools.mjs')
cpSync(join(ROOT, 'examples/assistant-tools.mjs'), example)
assembleClient(join(folder, 'node_modules/matoolkit-client'))

/** Sends the requests, closes stdin, and returns what came by its id. */
async function converse(env: Record<string, string>, requests: readonly object[]) {
  const child = spawn(process.execPath, [example], {
    env: { ...env, PATH: process.env.PATH },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (text: Buffer) => {
    out += text
  })
  child.stderr.on('data', (text: Buffer) => {
    err += text
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.stdin.end(requests.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join(''))
  assert.equal(await ended, 0, err)
  const lines = out.trimEnd().split('\n')
  const answers = lines.map((line) => JSON.parse(line) as Answer)
  assert.ok(answers.every(({ jsonrpc }) => jsonrpc === '2.0'))
  return new Map(answers.map((answer) => [answer.id, answer]))
}

const tool = (id: number, name: string, given: object = {}) => ({
  id,
  method: 'tools/call',
  params: { name, arguments: given },
})

it('the example of tools for an assistant answers what an operator asks, and changes nothing', async () => {
  const api = await openApiUnderTest()
  try {
    await api.world.publish(plain())
    const batchId = await api.world.batch('plain', 3, { startsInMin: 60 })
    const env = { MATOOLKIT_API_URL: api.url, MATOOLKIT_TOKEN: api.token }
    const { events: eventsBefore } = await countsIn()
    const answers = await converse(env, [
      { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {} } },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
      tool(3, 'get_status'),
      tool(4, 'get_batch', { batchId }),
      tool(5, 'get_batch', { batchId: 999 }),
      tool(6, 'cancel_batch', { batchId }),
      tool(7, 'find_members', { text: 'example' }),
      tool(8, 'list_failures'),
      { id: 9, method: 'resources/list' },
    ])
    assert.equal(answers.size, 9, 'a notification has no answer')
    const { tools = [] } = answers.get(2)!.result!
    const member = tools.find(({ name }) => name === 'get_member')!
    assert.deepEqual(member.inputSchema.required, ['batchId', 'memberId'])
    const textOf = (id: number) => answers.get(id)!.result!.content![0]!.text
    assert.match(textOf(3), /^Data as JSON.*\n\{.*"headline":/)
    assert.match(textOf(4), new RegExp(`"id":${batchId},`))
    assert.match(textOf(5), /^BATCH_NOT_FOUND: /)
    assert.deepEqual(
      [5, 6, 7, 8].map((id) => answers.get(id)!.result!.isError ?? false),
      [true, true, false, false],
    )
    assert.equal(answers.get(9)!.error!.code, -32_601)
    const after = await countsIn()
    assert.deepEqual([after.events, after.changes], [eventsBefore, 0])
    assert.equal(after.via, 1, 'the audit names the assistant with what it read of people')

    async function countsIn() {
      const [row] = await api.world.db.query<{ events: number; changes: number; via: number }>(
        `select (select count(*)::int from events) as events,
                (select count(*)::int from audit where action not like 'read %') as changes,
                (select count(distinct after_json->>'via')::int from audit where after_json->>'via' = 'assistant') as via`,
      )
      return row!
    }
  } finally {
    await api.close()
  }
})
