export { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
