import assert from 'node:assert/strict'
import { it } from 'node:test'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { fitParameters, misfitsIn, misfitText } from '../../../src/worker/jobs/fit-parameters.ts'

const definition = STANDARD_FUNCTIONS.find(({ name }) => name === 'Set-EntraUserUPN')!

const refusedOf = (given: Parameters<typeof fitParameters>[1]) => {
  const fitted = fitParameters(definition, given)
  assert.ok('misfits' in fitted)
  return misfitsIn(`Exception: ${misfitText(definition.name, fitted.misfits)}`)
}

it('a message about parameters names each that does not fit, and an unknown one', () => {
  assert.deepEqual(refusedOf({}), ['UserId', 'NewUserPrincipalName'])
  assert.deepEqual(refusedOf({ UserId: '', NewUserPrincipalName: 'ada@contoso.com', Upn: 1 }), [
    'UserId',
    'Upn',
  ])
  assert.deepEqual(refusedOf({ UserId: 'a', userid: 'b' }), ['UserId'])
})

it('any other message is about no parameter', () => {
  assert.equal(misfitsIn('Microsoft Graph returned 404 NotFound: Parameters; gone'), null)
})
