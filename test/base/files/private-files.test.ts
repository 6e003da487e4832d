import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import {
  isPrivateFile,
  readPrivateFile,
  requirePrivateFolder,
  writePrivateFile,
} from '../../../src/base/files/private-files.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'

const root = mkdtempSync(join(tmpdir(), 'matoolkit-private-'))
after(() => rmSync(root, { recursive: true }))
const hasModes = process.platform !== 'win32'
const isRoot = process.getuid?.() === 0
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const SETTING = { setting: 'MATOOLKIT_DATA_DIR' }

/** A folder of this mode with a file in it. */
function usedFolder(name: string, mode: number): string {
  const folder = join(root, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'data'), 'rows')
  chmodSync(folder, mode)
  return folder
}

function refusalOf(work: () => void): MatoolkitError {
  let thrown: unknown
  try {
    work()
  } catch (error) {
    thrown = error
  }
  assert.ok(thrown instanceof MatoolkitError, String(thrown))
  return thrown
}

describe('a private folder', { skip: !hasModes }, () => {
  it('is created for its owner only, with the folders above it', () => {
    const folder = join(root, 'new', 'data')
    requirePrivateFolder(folder, SETTING)
    assert.deepEqual([modeOf(join(root, 'new')), modeOf(folder)], ['700', '700'])
  })

  const OPEN: [mode: number, can: string][] = [
    [0o755, 'read'],
    [0o750, 'read'],
    [0o711, 'read'],
    [0o770, 'change'],
    [0o777, 'change'],
  ]
  for (const [mode, can] of OPEN) {
    it(`is refused with mode ${mode.toString(8)}, with the command that narrows it`, () => {
      const folder = usedFolder(`open-${mode}`, mode)
      const { code, message } = refusalOf(() => requirePrivateFolder(folder, SETTING))
      assert.equal(code, 'FOLDER_UNSAFE')
      assert.ok(message.includes(`other users can ${can} it (mode ${mode.toString(8)})`), message)
      assert.ok(message.includes(`chmod -R go= "${folder}"`), message)
      assert.equal(modeOf(folder), mode.toString(8), 'it is left as it is')
      chmodSync(folder, 0o700)
      requirePrivateFolder(folder, SETTING)
    })
  }

  it('is narrowed while it is empty and our own', () => {
    const folder = join(root, 'empty')
    mkdirSync(folder)
    chmodSync(folder, 0o777)
    requirePrivateFolder(folder, SETTING)
    assert.equal(modeOf(folder), '700')
  })

  it('may be listed, but not changed, where each file is private', () => {
    const use = { ...SETTING, mayBeListed: true }
    requirePrivateFolder(usedFolder('listed', 0o755), use)
    const { code } = refusalOf(() => requirePrivateFolder(usedFolder('shared', 0o775), use))
    assert.equal(code, 'FOLDER_UNSAFE')
  })

  it('is refused if all users share it, and no one is told to close it', () => {
    const folder = usedFolder('sticky', 0o1777)
    const { code, message } = refusalOf(() => requirePrivateFolder(folder, SETTING))
    assert.equal(code, 'FOLDER_UNSAFE')
    assert.match(
      message,
      /all users share it\. Start in a folder of your own, or set MATOOLKIT_DATA_DIR/,
    )
    assert.doesNotMatch(message, /chmod/)
    rmSync(join(folder, 'data'))
    assert.equal(refusalOf(() => requirePrivateFolder(folder, SETTING)).code, 'FOLDER_UNSAFE')
    assert.equal(modeOf(folder), '777', 'not narrowed, even while it is empty')
  })

  it('is refused if it belongs to somebody else, even when it is empty', { skip: !isRoot }, () => {
    const folder = join(root, 'foreign')
    mkdirSync(folder, { mode: 0o700 })
    chownSync(folder, 12_345, 12_345)
    const { code, message } = refusalOf(() => requirePrivateFolder(folder, SETTING))
    assert.equal(code, 'FOLDER_UNSAFE')
    assert.match(message, /it belongs to user 12345, and this process runs as user 0/)
    assert.match(message, /Start in a folder of your own, or set MATOOLKIT_DATA_DIR to another/)
  })

  it('of the embedded database has no file for others, and is not opened when it is wider', async () => {
    const folder = join(root, 'embedded')
    const before = process.umask(0)
    try {
      const db = await openPglite(folder)
      await db.script('create table people as select generate_series(1, 10000) n; checkpoint')
      await db.close()
    } finally {
      process.umask(before)
    }
    const open = readdirSync(join(folder, 'pgdata'), { recursive: true, withFileTypes: true })
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => (statSync(path).mode & 0o077) !== 0)
    assert.deepEqual(open, [])
    assert.equal(modeOf(folder), '700')
    chmodSync(folder, 0o755)
    await assert.rejects(openPglite(folder), { code: 'FOLDER_UNSAFE' })
  })
})

describe('a private file', () => {
  it('is replaced as a whole and leaves no draft', () => {
    const folder = join(root, 'files')
    mkdirSync(folder)
    const file = join(folder, 'note.json')
    for (const text of ['one', 'two']) writePrivateFile(file, text)
    assert.equal(readPrivateFile(file), 'two')
    assert.deepEqual(readdirSync(folder), ['note.json'])
    if (hasModes) assert.equal(modeOf(file), '600')
  })

  it('replaces a planted link and leaves its target alone', { skip: !hasModes }, () => {
    const [target, file] = [join(root, 'target'), join(root, 'planted')]
    writeFileSync(target, 'untouched', { mode: 0o600 })
    symlinkSync(target, file)
    assert.equal(isPrivateFile(file), false)
    writePrivateFile(file, 'secret')
    assert.equal(readFileSync(target, 'utf8'), 'untouched')
    assert.equal(readPrivateFile(file), 'secret')
  })

  it('is not read through a link, nor when others can use it', { skip: !hasModes }, () => {
    const [file, link] = [join(root, 'own'), join(root, 'link')]
    writePrivateFile(file, 'secret')
    symlinkSync(file, link)
    assert.equal(readPrivateFile(link), undefined)
    chmodSync(file, 0o640)
    assert.equal(readPrivateFile(file), undefined)
    assert.equal(readPrivateFile(join(root, 'missing')), undefined)
    assert.ok(!existsSync(join(root, 'missing')))
  })
})
