// `matoolkit up` with your files: a CSV source in its folder, your people in the sandbox, a tick now.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { plain } from '../../api/contract/fixtures.ts'
import { start } from '../../kit/processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-up-'))
after(() => rmSync(folder, { recursive: true }))
const env = {
  MATOOLKIT_API_PORT: '0',
  MATOOLKIT_HOME: join(folder, 'home'),
  MATOOLKIT_OUTPUT: 'table',
}
const PEOPLE = `UserPrincipalName,DisplayName
ada@tailspin.example,Ada
bob@tailspin.example,Bob
`

describe('matoolkit up with files of its folder', () => {
  it('serves your own people and reads the csv source of its folder', async () => {
    const elsewhere = join(folder, 'elsewhere')
    const here = join(folder, 'here')
    for (const place of [elsewhere, here]) mkdirSync(place)
    writeFileSync(join(here, 'seed.csv'), PEOPLE)
    // Published from a folder that has a file of that name too: it must not be the one that counts.
    writeFileSync(join(elsewhere, 'plain.yaml'), plain())
    writeFileSync(
      join(elsewhere, 'people.csv'),
      'UserPrincipalName,When\nwrong@x.example,2090-01-01T00:00:00Z\n',
    )
    const up = start(['up', '--sandbox', '--seed', 'seed.csv'], env, here)
    try {
      await up.saying(/Press Ctrl-C to stop/)
      await up.saying(/sandbox +tailspin\.example with 2 people, served by tailspin-worker/)
      const run = (...args: string[]) => start(args, env, elsewhere).ended
      const said = async (...args: string[]) => {
        const { code, out, err } = await run(...args)
        assert.equal(code, EXIT.ok, `${args.join(' ')}\n${out}\n${err}`)
        return out
      }
      // The link that up prints, and again when it is lost.
      const [link] = await up.saying(/http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}/)
      assert.equal((await said('status', '--link')).trim(), link)
      await said('runbook', 'publish', 'plain.yaml')
      const missing = await run('query', 'preview', 'plain')
      assert.equal(missing.code, EXIT.failed)
      assert.match(
        missing.err,
        /no file or folder ".*\/here\/people\.csv".*\(SOURCE_FILE_MISSING\)/,
      )
      writeFileSync(
        join(here, 'people.csv'),
        'UserPrincipalName,When\nada@x.example,2090-01-01T00:00:00Z\n',
      )
      assert.match(await said('query', 'preview', 'plain'), /^1 row in/)
      await said('automation', 'enable', 'plain')
      // The scheduler may be faster than the hand, or be at it right now.
      const ticked = await run('automation', 'tick', 'plain')
      if (ticked.code === EXIT.ok) assert.match(ticked.out, /plain +good/)
      else assert.match(ticked.err, /TICK_RUNNING/)
      assert.match(await said('batch', 'members', '1'), /ada@x\.example/)
    } finally {
      up.kill('SIGINT')
    }
    assert.equal((await up.ended).code, EXIT.ok)
  })

  const WRONG: [title: string, args: string[], text: string, code: number, says: RegExp][] = [
    ['a seed without a sandbox', ['up'], PEOPLE, EXIT.usage, /Add --sandbox\./],
    [
      'a person without an address',
      ['up', '--sandbox'],
      'UserPrincipalName,Id\na@x.example,1\n,2\n',
      EXIT.usage,
      /row 3, column UserPrincipalName: it is empty.*\(SANDBOX_SEED_INVALID\)/,
    ],
    [
      'two tenants for one worker',
      ['up', '--sandbox'],
      '{ "tenants": [{ "domains": ["a.example"] }, { "domains": ["a.test"] }] }',
      EXIT.usage,
      /"a-worker" would serve two tenants.*\(SANDBOX_SEED_INVALID\)/,
    ],
  ]
  for (const [title, args, text, code, says] of WRONG) {
    it(`refuses before anything starts: ${title}`, async () => {
      const file = text.startsWith('{') ? 'wrong.json' : 'wrong.csv'
      writeFileSync(join(folder, file), text)
      const ended = await start([...args, '--seed', file], env, folder).ended
      assert.equal(ended.code, code, ended.err)
      assert.match(ended.err, says)
      assert.doesNotMatch(ended.err, /Starting/)
    })
  }
})
