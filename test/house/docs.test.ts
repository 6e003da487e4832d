import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { expectedText, GENERATED, isInput, renderedDocuments } from '../../scripts/docs.ts'
import { migrationsOnDisk } from '../../src/db/schema/migration-files.ts'
import { readRunbook } from '../../src/domain/runbook/read.ts'
import { importsOf, isCode, projectFiles } from './tidy/source.ts'

const root = join(import.meta.dirname, '../..')

describe('generated documents agree with the program', () => {
  for (const document of GENERATED) {
    it([document.file, document.section].filter(Boolean).join(': '), () => {
      const text = readFileSync(join(root, document.file), 'utf8')
      const advice = 'run: npm run docs'
      assert.equal(text, expectedText(document, text), `${document.file} is out of date; ${advice}`)
    })
  }

  it('a row missing from a document, or one too many, is noticed', () => {
    const document = { file: 'x.md', section: 'rows', render: () => 'a\nb' }
    const marked = (rows: string) =>
      `# Title\n<!-- generated: rows -->\n\n${rows}\n\n<!-- end of generated -->\nmore\n`
    assert.equal(expectedText(document, marked('a\nb')), marked('a\nb'))
    assert.notEqual(expectedText(document, marked('a')), marked('a'))
    assert.equal(expectedText(document, marked('a\nb\nc')), marked('a\nb'))
    assert.throws(() => expectedText(document, '# Title\n'), /x\.md needs the lines/)
  })
})

it('one run of npm run docs is enough: it runs again for a document that the program imports', async () => {
  const files = projectFiles(root)
  const imported = new Set(
    files
      .filter(({ path }) => isCode(path))
      .flatMap((file) => importsOf(file).map(({ target }) => target)),
  )
  const documents = (await renderedDocuments()).map(({ file }) => file)
  assert.ok(documents.includes('src/m365/standard-functions.json'))
  const unknown = documents.filter((file) => imported.has(file) && !isInput(file))
  assert.deepEqual(unknown, [])
})

it('the runbook that the README shows is valid', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [, yaml] = readme.match(/```yaml\n([\s\S]*?)```/)!
  assert.deepEqual(readRunbook(yaml!).problems, [])
})

it('docs/operating.md says of every table what makes it grow and what limits it', () => {
  const text = readFileSync(join(root, 'docs/operating.md'), 'utf8')
  const [, section] = text.match(/\n## What grows\n([\s\S]*?)\n## /)!
  const rows = section!.split('\n').filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  )
  const made = migrationsOnDisk().flatMap(({ sql }) =>
    [...sql.matchAll(/^create table (\w+)/gm)].map(([, name]) => name!),
  )
  assert.deepEqual(named.toSorted(), ['schema_migrations', ...made].toSorted())
  for (const row of rows) assert.match(row, /^\| `[^|]+ \| [^|]{5,} \| [^|]{5,} \|$/)
})

it('ARCHITECTURE.md says of every table what a row of it is', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const [, section] = text.match(/\n## What is stored\n([\s\S]*?)\n## /)!
  const rows = section!.split('\n').filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  )
  const made = migrationsOnDisk().flatMap(({ sql }) =>
    [...sql.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name]) => name!),
  )
  assert.deepEqual(named.toSorted(), made.toSorted())
})
