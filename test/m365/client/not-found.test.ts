// What counts as "not found", by service, status and words.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isMissingInExchange } from '../../../src/m365/client/not-found.ts'
import { isMissingByStatus } from '../../../src/worker/http/refusal.ts'

const GONE = "The operation couldn't be performed because object 'x' couldn't be found on 'y'."
const EXCEPTION = 'ManagementObjectNotFoundException'

describe('not found in Exchange', () => {
  const CASES: readonly [status: number, code: string, message: string, isMissing: boolean][] = [
    [404, EXCEPTION, GONE, true],
    [400, EXCEPTION, GONE, true],
    [500, EXCEPTION, GONE, true],
    [200, EXCEPTION, GONE, true],
    [400, 'BadRequest', GONE, true],
    [500, 'InternalServerError', "The migration user can't be found.", true],
    [400, 'RecipientTaskException', 'Couldn’t find object "x". Please make sure', true],
    [400, 'MigrationUserNotFoundException', 'The user is unknown.', true],
    [404, 'Unexplained', '<html>Not here</html>', false],
    [404, 'NotFound', 'no reason given.', true],
    [
      400,
      'ParameterBindingException',
      "A parameter cannot be found that matches parameter name 'Member'.",
      false,
    ],
    [500, 'CommandNotFoundException', "The term 'Get-X' could not be found.", false],
    [403, 'Forbidden', GONE, false],
    [503, 'ServiceUnavailable', 'not found', false],
    [400, 'ProxyAddressExistsException', 'is already being used', false],
  ]
  for (const [status, code, message, isMissing] of CASES)
    it(`${status} ${code} "${message.slice(0, 40)}": ${isMissing}`, () =>
      assert.equal(isMissingInExchange(status, { code, message }), isMissing))
})

describe('not found in Microsoft Graph', () => {
  it('is a 404 with a reason', () => {
    const told = { code: 'Request_ResourceNotFound', message: 'Resource does not exist' }
    assert.equal(isMissingByStatus(404, told), true)
    assert.equal(isMissingByStatus(404, { code: 'Unexplained' }), false)
  })

  it('is not a 400 about a property that does not exist', () => {
    const told = { code: 'Request_BadRequest', message: "Property 'x' does not exist" }
    assert.equal(isMissingByStatus(400, told), false)
  })
})
