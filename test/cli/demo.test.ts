// The demonstration from end to end, as `npm start` runs it, in a process of its own and in its fast setting.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '../..')

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs `matoolkit demo`, and interrupts it as soon as it has said `until`. */
function runDemo(args: readonly string[], until?: RegExp): Promise<Ran> {
  const child = spawn(process.execPath, ['src/main.ts', 'demo', ...args], { cwd: root })
  const { promise, resolve } = Promise.withResolvers<Ran>()
  let [out, err] = ['', '']
  let isInterrupted = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (isInterrupted || !until?.test(out)) return
    isInterrupted = true
    // Twice, as it comes when npm has started it.
    child.kill('SIGINT')
    child.kill('SIGINT')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.on('close', (code) => resolve({ code, out, err }))
  return promise
}

describe('the demonstration', () => {
  it('ends as it should: everybody accounted for, every feature seen', async () => {
    const { code, out, err } = await runDemo(['--fast'])
    assert.equal(code, 0, `${out}\n${err}`)
    assert.equal(err, '')
    const [, shown] = /```\n(Completed: [\s\S]*?)```/.exec(
      readFileSync(`${root}/README.md`, 'utf8'),
    )!
    assert.match(shown!, /9 of 201 members failed[\s\S]*191 through, 9 failed, 1 removed\n$/)
    assert.ok(out.includes(shown!), `README.md shows another end than this:\n${out.slice(-2_000)}`)
    assert.match(out, /^retries +57$/m)
    assert.match(out, /^rollbacks +9, all steps succeeded in 9$/m)
    assert.match(out, /^jobs sent +1,\d{3}, of them \d{3} polls$/m)
    for (const seen of [
      /▶ phase prepare starts: due at 2030-02-24T20:00:00.000Z/,
      /↻ \w+\.\w+: copy-licences: retry 2 of 2 in 30 s: .* \(Hiccup\)/,
      /\+ 1 member was added/,
      /− ben\.adler: left: no longer in the member list/,
      /− ben\.adler: clean-up done/,
      /✗ ada\.hahn: switch-address failed: no licence left \(Obstacle\)/,
      /✗ uwe\.dorn: move-mailbox timed out: not complete after 2400 s of polling/,
      /↩ uwe\.dorn: move-mailbox rolled back/,
      /cutover: \d+ passed/,
    ]) {
      assert.match(out, seen)
    }
    assert.ok(!out.includes('\u001b'), 'no colours and no cursor movements without a terminal')
  })

  it('ends at once and cleanly when it is interrupted', async () => {
    const { code, out, err } = await runDemo(['--fast'], /phase prepare starts/)
    assert.deepEqual([code, err], [1, ''])
    assert.match(out, /\nStopped: 0 of 3 phases completed, [\d,]+ jobs? sent,\n/)
    assert.ok(out.endsWith('nothing is left behind.\n'), out)
  })
})
