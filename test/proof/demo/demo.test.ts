// The demonstration from end to end, as `npm start` runs it, in its own process and at full speed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '../../..')

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** What a browser and its wall get at this link. */
async function lookAt(link: string): Promise<{ status: number; batches: string }> {
  const { origin, hash } = new URL(link)
  const page = await fetch(origin, { headers: { accept: 'text/html' } })
  const token = new URLSearchParams(hash.slice(1)).get('token')
  const now = await fetch(`${origin}/api/now`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(now.headers.get('x-matoolkit-time-rate'), '4')
  return { status: page.status, batches: await now.text() }
}

/** Runs `matoolkit up --demo`. As soon as its output matches `until`, looks and interrupts it. */
function runDemo(
  args: readonly string[],
  until?: RegExp,
  look: (out: string) => Promise<void> = async () => {},
): Promise<Ran> {
  const child = spawn(process.execPath, ['src/main.ts', 'up', '--demo', ...args], { cwd: root })
  const { promise, resolve, reject } = Promise.withResolvers<Ran>()
  let [out, err] = ['', '']
  let isInterrupted = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (isInterrupted || !until?.test(out)) return
    isInterrupted = true
    // Twice, as it comes when npm has started it.
    const interrupt = () => {
      child.kill('SIGINT')
      child.kill('SIGINT')
    }
    look(out).catch(reject).finally(interrupt)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.on('close', (code) => resolve({ code, out, err }))
  return promise
}

describe('the demonstration', () => {
  it('ends as expected: every member accounted for, every feature seen', async () => {
    const { code, out, err } = await runDemo(['--fast'])
    assert.equal(code, 0, `${out}\n${err}`)
    assert.equal(err, '')
    assert.match(out, /Completed: 9 of 201 members failed, as the example intends\./)
    assert.match(out, /^cutover +T-0 +completed +191 +191 +0 +0 +0$/m)
    assert.match(out, /^members +201: 191 finished, 9 failed, 1 removed$/m)
    assert.match(out, /^rollbacks +9 started, 9 completed$/m)
    assert.match(out, /^jobs sent +[78],\d{3}, including (?:1,)?\d{3} polls$/m)
    assert.doesNotMatch(out, /ada\.claas: create-account/, 'the account of a namesake stays')
    for (const seen of [
      /▶ phase pre-stage started: due at 20:00 UTC/,
      /✗ ada\.claas: check-names timed out: .*"ada\.claas@contoso\.onmicrosoft\.com" is taken \(account without mail/,
      /✗ finn\.berg: check-scope timed out: not complete after 86400 s of polling/,
      /✗ ada\.dorn: check-readiness failed: The source mailbox is on hold \(LitigationHoldEnabled\)/,
      /↩ ada\.dorn: check-readiness rolled back/,
      /\+ 1 member was added/,
      /− ben\.adler: removed by [a-z]+: no longer in the member list/,
      /− ben\.adler: free-licence done/,
      /cutover: \d+ passed/,
      /^requests +(?:9|1\d),\d{3} to the tenants, of which$/m,
      /^ +\d+ throttled$/m,
      /^ +\d answered, response lost$/m,
    ]) {
      assert.match(out, seen)
    }
    assert.ok(!out.includes('\u001b'), 'no colours and no cursor movements without a terminal')
  })

  it('shows itself in the dashboard, and ends at once when it is interrupted', async () => {
    let page = { status: 0, batches: '' }
    const look = async (out: string) => {
      page = await lookAt(/^Watch it in your browser: (http:\S+)$/m.exec(out)![1]!)
    }
    const { code, out, err } = await runDemo(['--fast'], /phase pre-stage started/, look)
    assert.deepEqual([code, err], [1, ''])
    assert.equal(page.status, 200)
    assert.match(page.batches, /"runbookName":"full-migration".*"phaseName":"pre-stage"/)
    assert.doesNotMatch(out, /Press Ctrl-C/, 'nothing stays without a terminal')
    assert.match(out, /\nStopped: 0 of 8 phases completed, [\d,]+ jobs? sent,\n/)
    assert.ok(out.endsWith('nothing is left behind.\n'), out)
  })
})
