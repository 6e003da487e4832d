// Database roles for identities of Entra ID, on a real server with a stand-in for the one function that only Azure's has.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { openEmptyPostgres } from '../../kit/databases.ts'
import { start } from '../../kit/processes.ts'

describe('matoolkit db grant --entra', () => {
  it('makes roles with the functions of Azure, once, and migrates first', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const elsewhere = new URL(test.url!)
    elsewhere.pathname = '/postgres'
    const functions = await openPostgres({ url: elsewhere.href })
    const role = `matoolkit-api-${randomUUID().slice(0, 8)}`
    const id = randomUUID()
    const name = 'pgaadauth_create_principal_with_oid(text, text, text, boolean, boolean)'
    await using _functions = {
      [Symbol.asyncDispose]: async () => {
        await test.db.script(`drop owned by "${role}"; drop role "${role}"`)
        await functions.script(`drop function if exists ${name}`)
        await functions.close()
      },
    }
    const flags = ['grant', '--migrate', '--application', role, '--entra', `${role}=${id}`]
    const db = (...words: string[]) => start(['db', ...words], { DATABASE_URL: test.url! }).ended
    const refused = await db(...flags)
    assert.match(refused.err, /only Azure Database for PostgreSQL.*\(ENTRA_ROLES_UNAVAILABLE\)/)
    assert.equal(refused.code, EXIT.unavailable)
    // Azure's own, as far as its documentation goes: the role may sign in and is no administrator.
    await functions.script(`create function ${name} returns text language plpgsql as $$ begin
      if $3 <> 'service' or $4 or $5 then raise 'unexpected'; end if;
      execute format('create role %I login', $1);
      perform set_config('allow_system_table_mods', 'on', true);
      insert into pg_shseclabel (objoid, classoid, provider, label) select oid, 'pg_authid'::regclass,
        'pgaadauth', 'aadauth,oid=' || $2 || ',type=' || $3 from pg_roles where rolname = $1;
      return 'Created role for ' || $1; end $$`)
    const planned = await db(...flags.filter((word) => word !== '--migrate'), '--dry-run')
    assert.match(
      planned.out,
      new RegExp(`_with_oid\\('${role}', '${id}', 'service', false, false\\);`),
    )
    const made = await db(...flags)
    assert.equal(made.code, EXIT.ok, made.err)
    assert.match(
      made.out,
      new RegExp(
        `^${role}: made for identity ${id}\n${role} \\(application\\): granted \\d+ rights\n$`,
      ),
    )
    const found = await test.db.query(
      `select rolcanlogin, rolsuper, label from pg_roles, pg_seclabels where rolname = $1 and objname = quote_ident(rolname)`,
      [role],
    )
    const label = `aadauth,oid=${id},type=service`
    assert.deepEqual(found, [{ rolcanlogin: true, rolsuper: false, label }])
    const again = await db(...flags)
    assert.equal(again.out, `${role} (application): has its rights\n`)
    // The same name in another region, or after it was deleted: Azure knows the role by the id of before.
    const other = ['grant', '--application', role, '--entra', `${role}=${randomUUID()}`]
    const given = await db(...other, '--dry-run')
    const mapped = `security label for pgaadauth on role "${role}" is 'aadauth,oid=${other[4]!.split('=')[1]},type=service'; -- in postgres`
    assert.equal(given.out.split('\n')[0], mapped)
    // Only Azure's server has the provider of these labels.
    assert.match((await db(...other)).err, /ENTRA_ROLES_UNAVAILABLE/)
    const wrong = await db('grant', '--entra', `${role}=nobody`)
    assert.match(wrong.err, /--entra is ".*=nobody", but must be .*\(USAGE\)/)
  })
})
