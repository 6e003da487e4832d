// Rolling upgrades: a migration after the first release declares what it does to programs at work, and an additive one only adds.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Migration, migrationsOnDisk } from '../../../src/db/schema/migration-files.ts'
import { faultsIn, statementsIn } from './additive.ts'
import { listFixtures } from './fixture.ts'

const migration = (kind: string, sql: string): Migration => ({
  version: 5,
  file: '005_next.sql',
  sql: `-- Next.\n-- upgrade: ${kind}\n${sql}`,
})

describe('migrations after the first release', () => {
  // Everything in the fixture of the first release was created with it.
  const first = Object.keys(listFixtures()[0]!.migrations)
  const later = migrationsOnDisk().filter(({ file }) => !first.includes(file))

  it('declare what they do to programs at work', () => {
    assert.ok(first.length > 0)
    const silent = later.filter(({ sql }) => !/^-- upgrade:/m.test(sql)).map(({ file }) => file)
    assert.deepEqual(silent, [], 'add a line "-- upgrade: …" (CONTRIBUTING.md, Add a migration)')
  })

  it('only add if they say so', () => {
    for (const one of later) assert.deepEqual(faultsIn(one), [], one.file)
  })
})

describe('the rule of additive migrations', () => {
  const ADDITIVE = [
    'create table notes (id bigint primary key, text text not null check (text <> $$;$$)); create index notes_by_text on notes (text);',
    "create table kinds (name text unique); insert into kinds values ('a;b'), ('it''s')",
    'alter table batches add column note text',
    'alter table batches add column note text, add column size integer not null default 0',
    "alter table batches add column tags jsonb not null default '[]' -- why",
    'alter table batches add column is_new boolean default false not null',
    'alter table batches add column ratio double precision, add column ids bigint[]',
    'alter table batches add column code text collate "C"',
    'create view open_batches as select id from batches',
    'create function twice(n int) returns int language sql as $body$ select n; select n * 2 $body$',
    'create function twice(n int) returns int language sql as $$ select 2 * n $$; revoke execute on function twice from public',
  ]
  const NOT_ADDITIVE = [
    'drop table holds',
    'drop index waits_timers',
    'alter table batches drop column note',
    'alter table batches rename column note to notes',
    'alter table batches rename to waves',
    'alter table batches alter column note type integer',
    'alter table batches alter column note set not null',
    'alter table batches add column note text not null',
    'alter table batches add column at timestamptz default now()',
    'alter table batches add column id2 uuid not null default gen_random_uuid()',
    'alter table batches add column note text unique',
    'alter table batches add column note text check (length(note) < 9)',
    'alter table batches add column both text generated always as (a || b) stored',
    'alter table batches add column batch bigint references batches',
    'alter table batches add column note text, drop column other',
    'alter table batches add constraint short check (length(note) < 9) not valid',
    'create index batches_by_note on batches (note)',
    'create unique index concurrently if not exists one_note on batches (note)',
    'create or replace function may_serve(text) returns boolean language sql as $$ select true $$',
    'create trigger stop before insert on batches for each row execute function refuse()',
    "update batches set note = ''",
    "insert into settings values ('a', 'b')",
    'truncate events',
    'revoke execute on function may_serve from public',
    "do $$ begin execute 'drop table holds'; end $$",
  ]

  for (const sql of ADDITIVE)
    it(`allows: ${sql}`, () => assert.deepEqual(faultsIn(migration('additive', sql)), []))

  for (const sql of NOT_ADDITIVE)
    it(`finds: ${sql}`, () => {
      assert.deepEqual(faultsIn(migration('additive', sql)), [sql])
      assert.deepEqual(faultsIn(migration('contracting from 4', sql)), [])
    })

  it('wants one statement of a backfill and of an index, in the form that stalls nobody', () => {
    const chunk =
      "update batches set note = '' where id in (select id from batches where note is null limit 1000)"
    const index = 'create index concurrently if not exists by_note on batches (note)'
    const isFit = (kind: string, sql: string) => faultsIn(migration(kind, sql)).length === 0
    assert.ok(isFit('backfill', chunk))
    assert.ok(isFit('index', `${index};`))
    const unfit: [string, string][] = [
      ['backfill', "update batches set note = ''"],
      ['backfill', `${chunk}; ${chunk}`],
      ['backfill', chunk.replace('1000', '10000')],
      ['index', 'create index by_note on batches (note)'],
      ['index', index.replace('if not exists ', '')],
      ['index', index.replace('index', 'unique index')],
    ]
    for (const [kind, sql] of unfit) assert.ok(!isFit(kind, sql), `${kind}: ${sql}`)
  })

  it('reads statements as the server does', () => {
    const sql = "select ';' -- a; b\n, $a$;$b$;$a$;\n  select 'it''s;' - 1;"
    assert.deepEqual(statementsIn(sql), ["select ';' , $a$;$b$;$a$", "select 'it''s;' - 1"])
  })
})
