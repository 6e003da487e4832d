// Errors of the bus: transports, messages and dead letters. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const BUS_ERRORS = errorRows({
  BUS_NOT_CONFIGURED: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'MATOOLKIT_TRANSPORT is "servicebus" and no namespace is named. Set MATOOLKIT_SERVICEBUS_NAMESPACE, for example to contoso.servicebus.windows.net.',
  },
  BUS_PACKAGE_MISSING: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'MATOOLKIT_TRANSPORT is "servicebus", and its package cannot be loaded: {reason}. Run "{command}" and start again.',
  },
  BUS_UNREACHABLE: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'Service Bus did not do as asked ({what}): {reason}. It is tried again. To find out what is wrong, run "matoolkit doctor bus".',
  },
  BUS_REFUSED: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'Service Bus refuses this process ({what}): {reason}. Give its identity the role that docs/bus.md names; it is tried again. "matoolkit doctor bus" shows what the identity may do.',
  },
  BUS_ENTITY_MISSING: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'The namespace has no "{entity}". Run "matoolkit doctor bus --create" with the right to manage it.',
  },
  MESSAGE_ID_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence:
      'The message id "{messageId}" is not 1 to 128 visible ASCII characters. Create ids with messageIdOf or jobIdOf.',
  },
  MESSAGE_UNROUTABLE: {
    http: 500,
    exit: EXIT.failed,
    sentence:
      'Cannot deliver message {messageId}: "{workerId}" is not a worker id. Use the worker_id of the step.',
  },
  MESSAGE_BODY_INVALID: {
    http: 422,
    exit: EXIT.failed,
    sentence: 'Message {messageId} was not sent. {reason} Send exactly the fields of its type.',
  },
  MESSAGE_TOO_LARGE: {
    http: 413,
    exit: EXIT.failed,
    sentence:
      'Message {messageId} has {bytes} bytes, more than the limit of {limit}. Shorten the parameters or the result, or pass a reference.',
  },
  WORKER_UNTOLD: {
    http: 503,
    exit: EXIT.failed,
    sentence:
      'Worker "{workerId}" takes no jobs: the namespace has no "{entity}", so no hold or cancel could stop them. Run "matoolkit doctor bus --create" with the right to manage it; the worker then continues on its own.',
  },
  DEAD_LETTER_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence: 'There is no dead letter "{id}". List the dead letters to find its id.',
  },
  DEAD_LETTER_DECIDED: {
    http: 409,
    exit: EXIT.conflict,
    sentence:
      'Dead letter {id} was already {decision} by {by}. List the dead letters to see which remain.',
  },
})
