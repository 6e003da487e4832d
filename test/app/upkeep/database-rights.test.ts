// Nobody becomes the owner of the database: what every function, every right and every role is, read from the catalog of a real server, so
// that a new function or grant cannot open what is closed here.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setUpRole } from '../../../src/app/upkeep/database-roles.ts'
import { rightsOf } from '../../../src/bus/role-rights.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { schemaFunctions } from '../../../src/db/schema/database-roles.ts'
import { openRole, type TestRole } from '../../kit/database-roles.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { START } from '../../stories/world.ts'

const WORKER_IDS = { application: [], worker: ['w1'] } as const
type Kind = keyof typeof WORKER_IDS
const KINDS = Object.keys(WORKER_IDS) as Kind[]

let test: TestDatabase
let roles: Record<Kind, TestRole>

before(async () => {
  test = await openTestPostgres()
  roles = {
    application: await openRole(test, 'application'),
    worker: await openRole(test, 'worker'),
  }
  for (const kind of KINDS)
    await setUpRole(test.db, { name: roles[kind].name, workerIds: WORKER_IDS[kind] }, START)
})

after(async () => {
  for (const kind of KINDS) await roles[kind][Symbol.asyncDispose]()
  await test.close()
})

const namesIn = async (db: Db, sql: string, values: readonly unknown[] = []): Promise<string[]> =>
  (await db.query<{ name: string }>(sql, values)).map(({ name }) => name)

describe('a function of the schema', () => {
  it('is known to those who grant rights', async () => {
    const found = await namesIn(
      test.db,
      "select proname::text as name from pg_proc where pronamespace = 'public'::regnamespace order by 1",
    )
    assert.ok(found.length > 10)
    assert.deepEqual(
      schemaFunctions()
        .map(({ name }) => name)
        .sort(),
      found,
    )
  })

  it('reads no temporary table of its caller when it has the rights of its owner, or decides for a trigger', async () => {
    const open = await namesIn(
      test.db,
      `select proname::text as name from pg_proc
        where pronamespace = 'public'::regnamespace and (prosecdef or prorettype = 'trigger'::regtype)
          and not coalesce(proconfig, '{}') @> array['search_path=public, pg_temp']`,
    )
    assert.deepEqual(open, [])
  })
})

describe('PUBLIC', () => {
  it('has no right on any function, table, column or sequence, and creates nothing', async () => {
    const open = await namesIn(
      test.db,
      `select 'function ' || p.proname || ': ' || a.privilege_type as name
         from pg_proc p cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where p.pronamespace = 'public'::regnamespace and a.grantee = 0
       union all
       select c.relname || ': ' || a.privilege_type
         from pg_class c cross join aclexplode(coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))) a
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'S', 'f') and a.grantee = 0
       union all
       select c.relname || '.' || n.attname || ': ' || a.privilege_type
         from pg_attribute n join pg_class c on c.oid = n.attrelid cross join aclexplode(n.attacl) a
        where c.relnamespace = 'public'::regnamespace and a.grantee = 0
       union all
       select 'schema ' || nspname || ': ' || a.privilege_type
         from pg_namespace cross join aclexplode(nspacl) a
        where nspname not in ('pg_catalog', 'information_schema') and a.grantee = 0 and a.privilege_type <> 'USAGE'
       union all
       select 'database: ' || a.privilege_type
         from pg_database cross join aclexplode(coalesce(datacl, acldefault('d', datdba))) a
        where datname = current_database() and a.grantee = 0 and a.privilege_type not in ('CONNECT', 'TEMPORARY')`,
    )
    assert.deepEqual(open, [])
  })
})

for (const kind of KINDS) {
  describe(`the ${kind}'s role`, () => {
    const rights = rightsOf({ workerIds: WORKER_IDS[kind] })

    it('executes its functions and no other', async () => {
      const may = await namesIn(
        test.db,
        `select proname::text as name from pg_proc
          where pronamespace = 'public'::regnamespace and has_function_privilege($1::name, oid, 'execute') order by 1`,
        [roles[kind].name],
      )
      assert.deepEqual(may, [...rights.functions].sort())
    })

    it('reaches its tables and no other table, view or sequence', async () => {
      const may = await namesIn(
        test.db,
        `select relname::text as name from pg_class
          where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm', 'p', 'f', 'S')
            and case when relkind = 'S' then has_sequence_privilege($1::name, oid, 'usage, select, update')
                     else has_table_privilege($1::name, oid, 'select, insert, update, delete, truncate, references, trigger')
                       or has_any_column_privilege($1::name, oid, 'select, insert, update, references') end
          order by 1`,
        [roles[kind].name],
      )
      assert.deepEqual(may, Object.keys(rights.tables).sort())
    })

    it('grants nothing on, belongs to nobody and owns nothing', async () => {
      const powers = await namesIn(
        test.db,
        `select 'grants ' || p.proname as name from pg_proc p cross join aclexplode(p.proacl) a
          where a.grantee = to_regrole($1) and a.is_grantable
         union all select 'grants ' || c.relname from pg_class c cross join aclexplode(c.relacl) a
          where a.grantee = to_regrole($1) and a.is_grantable
         union all select 'is a ' || roleid::regrole from pg_auth_members where member = to_regrole($1)
         union all select 'owns ' || oid::regclass from pg_class where relowner = to_regrole($1)
         union all select 'owns ' || oid::regprocedure from pg_proc where proowner = to_regrole($1)`,
        [roles[kind].name],
      )
      assert.deepEqual(powers, [])
    })

    it('runs nothing as owner by a temporary table with a trigger', async () => {
      const { db, name } = roles[kind]
      await db
        .transaction(async (tx) => {
          await tx.script(`
            create temp table ran (as_role text);
            create temp table batches (id bigint, erased_at timestamptz, outputs_json jsonb, held_reason text);
            insert into batches values (1, now(), '{}', '');
            create function pg_temp.spy() returns trigger language plpgsql as $$ begin
              insert into pg_temp.ran values (current_user);
              return new;
            end $$;
            create trigger spy before update on batches for each row execute function pg_temp.spy();
            grant all on batches, ran to public`)
          await tx.script(`do $$ begin perform erase_batch(1);
            exception when others then null; end $$`)
          const others = await tx.query('select from ran where as_role <> $1', [name])
          assert.equal(others.length, 0)
        })
        .finally(() => db.script('discard temp'))
    })
  })
}

describe("the application's role", () => {
  it('deletes no audit row by a pruning that stands in a temporary table', async () => {
    await test.db.query(
      `insert into audit (at, actor, action, subject, seal_number, previous_hash, hash) values ($1, 'a', 'b', 'c', 1, '', '')`,
      [START],
    )
    const { db } = roles.application
    const deleting = db.transaction(async (tx) => {
      await tx.script(`
        create temp table audit (action text, hash text, seal_number bigint, after_json jsonb);
        insert into audit values ('audit.prune', 'x', 2, '{"through": 9, "before": "2999-01-01"}')`)
      await tx.query('delete from public.audit')
    })
    await assert.rejects(deleting, /never changed or deleted/)
  })
})
