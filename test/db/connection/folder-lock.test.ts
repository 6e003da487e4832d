import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { lockFolder } from '../../../src/db/connection/folder-lock.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'

const program = join(import.meta.dirname, '../..', 'fixtures', 'folder', 'open-folder.ts')

interface Said {
  readonly pids?: number[]
  readonly code?: string
  readonly message?: string
}

describe('one process per folder', () => {
  let folder: string
  const children: ChildProcess[] = []
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'matoolkit-folder-'))
    await makeDataFolder(join(folder, 'db'))
  })
  after(() => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts a process on the folder and waits for the line it says. */
  async function open(): Promise<{ child: ChildProcess; exited: Promise<unknown>; said: Said }> {
    const child = spawn(process.execPath, [program, join(folder, 'db')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.push(child)
    const exited = once(child, 'close')
    const line = once(createInterface(child.stdout!), 'line')
    const [text] = (await Promise.race([line, exited])) as [unknown]
    assert.equal(typeof text, 'string', 'the process ended without a line')
    return { child, exited, said: JSON.parse(text as string) as Said }
  }

  it('refuses a second process, names the first, and admits it once the first is killed', async () => {
    const first = await open()
    assert.deepEqual(first.said.pids, [first.child.pid])

    const second = await open()
    await second.exited
    assert.equal(second.said.code, 'DATABASE_FOLDER_IN_USE')
    assert.match(second.said.message!, new RegExp(`in use by process ${first.child.pid} on `))
    assert.match(second.said.message!, /Stop that process/)

    first.child.kill('SIGKILL')
    await first.exited
    const third = await open()
    assert.deepEqual(
      new Set(third.said.pids),
      new Set([first.child.pid, third.child.pid]),
      'what the killed process had committed is there',
    )

    third.child.stdin!.end()
    await third.exited
    assert.equal(third.child.exitCode, 0)
  })

  it('frees the folder when unlocked', () => {
    const unlock = lockFolder(folder)
    assert.throws(() => lockFolder(folder), { code: 'DATABASE_FOLDER_IN_USE' })
    unlock()
    lockFolder(folder)()
  })
})
