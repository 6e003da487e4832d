# Microsoft's SDK for Python, as a peer on the bus. Reads one JSON value: where the broker is, and what to do in order; writes one line for
# each thing done.
import datetime
import json
import sys

from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusSubQueue
from uamqp import authentication

asked = json.load(sys.stdin)

# The SDK knows Azure's port only.
create = authentication.JWTTokenAuth.__init__
authentication.JWTTokenAuth.__init__ = lambda self, *given, **named: create(self, *given, **{**named, "port": asked["port"]})

client = ServiceBusClient.from_connection_string(asked["connectionString"], connection_verify=asked["authority"], retry_total=0)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


senders = {}


def plain(properties):
    return {text(key): text(value) for key, value in (properties or {}).items()}


def send(do):
    message = ServiceBusMessage(json.dumps(do["body"]), message_id=do.get("messageId"), application_properties=do.get("properties", {}), content_type="application/json")
    if do["topic"] not in senders:
        senders[do["topic"]] = client.get_topic_sender(do["topic"])
    sender = senders[do["topic"]]
    if "at" in do:
        message.scheduled_enqueue_time_utc = datetime.datetime.fromisoformat(do["at"])
    return sender.send_messages(message)


def take(do):
    queue = ServiceBusSubQueue.DEAD_LETTER if do.get("dead") else None
    taken = []
    with client.get_subscription_receiver(do["topic"], do["subscription"], sub_queue=queue, max_wait_time=2) as receiver:
        for message in receiver.receive_messages(max_message_count=do["count"], max_wait_time=2):
            taken.append({
                "messageId": message.message_id, "properties": plain(message.application_properties), "body": json.loads(str(message)),
                "deliveries": message.delivery_count, "reason": text(message.dead_letter_reason), "description": text(message.dead_letter_error_description),
            })
            if do.get("bury"):
                receiver.dead_letter_message(message, reason="Unreadable", error_description="Größe 李")
            elif do.get("giveBack"):
                receiver.abandon_message(message)
            else:
                receiver.complete_message(message)
    return taken


for do in asked["steps"]:
    print(json.dumps(send(do) if do["do"] == "send" else take(do)), flush=True)
client.close()
