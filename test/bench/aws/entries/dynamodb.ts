export { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
