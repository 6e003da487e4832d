// Which rights an app lacks, as its tokens show them.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { UnsecuredJWT } from 'jose'
import { z } from 'zod'
import { missingRights, rightsIn } from '../../../src/m365/check/rights.ts'
import {
  defineFunction,
  type Permissions,
  TOUCHES_NOTHING,
} from '../../../src/worker/functions/catalogue.ts'

const needing = (name: string, permissions: Permissions) =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name,
    description: 'x',
    parameters: z.object({}),
    permissions,
    run: async () => true,
  })

const FUNCTIONS = [
  needing('Read', { graph: ['User.Read.All'] }),
  needing('Write', { graph: ['User.ReadWrite.All', 'User.Read.All'] }),
  needing('Mail', { graph: ['Mail.Send'] }),
  needing('Move', { exchange: ['Mail Recipients'] }),
  needing('Nothing', {}),
]

it('names each missing right with the functions that need it', () => {
  const lacking = (graph: string[] | null, exchange: string[] | null) =>
    Object.fromEntries(missingRights(FUNCTIONS, { graph, exchange }))
  assert.deepEqual(lacking(['User.Read.All'], []), {
    'User.ReadWrite.All': ['Write'],
    'Mail.Send': ['Mail'],
    'Exchange.ManageAsApp': ['Move'],
  })
  assert.deepEqual(lacking(['Directory.ReadWrite.All', 'Mail.Send'], ['Exchange.ManageAsApp']), {})
  assert.deepEqual(lacking(null, null), {}, 'nothing is said of rights that a token does not show')
})

it('reads the rights of a token without believing in its form', () => {
  const token = (claims: object) => new UnsecuredJWT({ ...claims }).encode()
  assert.deepEqual(rightsIn(token({ roles: ['Mail.Send'] })), ['Mail.Send'])
  assert.deepEqual(rightsIn(token({})), [])
  assert.equal(rightsIn('opaque'), null)
})
