// A real Prometheus scrapes the API, and its tool checks the rules and what they say.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openApiUnderTest } from '../../api/under-test.ts'
import { ROOT } from '../../kit/processes.ts'
import { runbook, step } from '../../stories/looking.ts'
import { people } from '../../stories/world.ts'
import { ask, works } from './program.ts'

const RULES = join(ROOT, 'infra/monitoring/alerts.yaml')
const RULE_COUNT = readFileSync(RULES, 'utf8').split('- alert:').length - 1
const LEFT_OUT = 'left out: there is no Prometheus'

interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Asks until there is an answer; the test's own time limit ends the wait. */
async function query(url: string, expression: string): Promise<readonly Series[]> {
  for (;;) {
    const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`)
      .then((got) => got.json() as Promise<{ data?: { result?: Series[] } }>)
      .catch(() => null)
    const found = answer?.data?.result ?? []
    if (found.length > 0) return found
  }
}

describe('Prometheus', { timeout: 60_000 }, () => {
  it('finds the rules and the form of the metrics right', async (test) => {
    if (!(await works('promtool', ['--version']))) return test.skip(LEFT_OUT)
    assert.match(
      await ask('promtool', ['check', 'rules', RULES]),
      new RegExp(`SUCCESS: ${RULE_COUNT} rules`),
    )
    const api = await openApiUnderTest()
    try {
      const { text } = await api.call('GET', '/metrics')
      // It writes advice about names, and nothing where it has none.
      assert.equal(await ask('promtool', ['check', 'metrics'], text), '')
    } finally {
      await api.close()
    }
  })

  it('scrapes the API with its token, and evaluates every rule', async (test) => {
    if (!(await works('prometheus', ['--version']))) return test.skip(LEFT_OUT)
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-prometheus-'))
    const api = await openApiUnderTest()
    await api.world.publish(runbook('wave', { 'cutover T-0': [step('move')] }))
    await api.world.batch('wave', people(3), { startsInMin: 60 })
    const config = join(folder, 'prometheus.yml')
    const target = new URL(api.url).host
    writeFileSync(
      config,
      `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [${RULES}]
scrape_configs:
  - job_name: matoolkit
    authorization: { credentials: "${api.token}" }
    static_configs: [{ targets: ["${target}"] }]
  - job_name: stranger
    authorization: { credentials: another token }
    static_configs: [{ targets: ["${target}"] }]
`,
      { mode: 0o600 },
    )
    const url = `http://127.0.0.1:${await freePort()}`
    const prometheus = spawn('prometheus', [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${new URL(url).host}`,
    ])
    try {
      const up = await query(url, 'up')
      const upOf = async (job: string) => (await query(url, `up{job="${job}"}`))[0]!.value[1]
      assert.ok(up.length > 0)
      assert.equal(await upOf('matoolkit'), '1')
      assert.equal(await upOf('stranger'), '0', 'another token gets nothing')
      const active = await query(url, 'sum(matoolkit_batches{job="matoolkit",status="active"})')
      assert.equal(active[0]!.value[1], '1')
      const rules = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string; health: string; state: string }[] }[] }
      }
      const judged = rules.data.groups.flatMap((group) => group.rules)
      assert.equal(judged.length, RULE_COUNT)
      assert.deepEqual(
        judged.filter(({ health }) => health === 'err'),
        [],
      )
    } finally {
      prometheus.kill('SIGKILL')
      await once(prometheus, 'close')
      await api.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
