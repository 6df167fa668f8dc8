stage "a"
{
}
