// The conformance program on a real device: nothing watches.
namespace oriel::test {

void prepare_device();
void prepare_device() {}

}  // namespace oriel::test
